"""What is recommended: `python3 -m unittest` in this folder."""

import unittest

from recommendations import PRODUCTS, Purchases, past_baskets

FEW = [{1, 2}, {1, 2, 3}, {4, 3}]


class Recommended(unittest.TestCase):
    def test_table(self):
        table = [
            ([1], 1, [2], "bought most often with it"),
            ([1], 2, [2, 3], "then the next"),
            ([4], 2, [3, 1], "filled up with what is bought most"),
            ([1, 2, 3, 4], 2, [], "nothing else was ever bought"),
            ([999], 1, [1], "nothing is known of it"),
        ]
        for products, limit, wanted, why in table:
            with self.subTest(why):
                self.assertEqual(Purchases(FEW).recommend(products, limit), wanted)

    def test_of_the_shop(self):
        purchases = Purchases(past_baskets())
        for product in range(1, PRODUCTS + 1):
            recommended = purchases.recommend([product], 3)
            self.assertEqual(len(set(recommended) - {product}), 3)
            self.assertTrue(all(1 <= other <= PRODUCTS for other in recommended))
        self.assertEqual(len(purchases.recommend([], 6)), 6)


if __name__ == "__main__":
    unittest.main()
